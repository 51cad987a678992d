-- MariaDB keeps JSON as text that is checked.
SELECT constraint_name
FROM information_schema.check_constraints
WHERE constraint_schema = COALESCE(?, DATABASE()) AND table_name = ? AND check_clause LIKE 'json@_valid(%' ESCAPE '@'
