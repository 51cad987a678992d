SELECT COUNT(*) FROM {part} WHERE {conditions}
