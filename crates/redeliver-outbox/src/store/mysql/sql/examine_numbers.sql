SELECT COUNT(*) FROM redeliver_outbox WHERE number > 1152921504606846975 OR number < 1
