-- When the dialog of a prompt was seen to leave the screen. Somebody may have done with a prompt that still stands there: it is
-- listed until it has gone. What ended before is taken to have left.
ALTER TABLE prompts ADD COLUMN left_at INTEGER;

UPDATE prompts SET left_at = changed_at WHERE status IN ('resolved', 'canceled', 'failed');
