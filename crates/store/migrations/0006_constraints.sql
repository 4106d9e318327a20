-- What a prompt says about its rows: which numbers they have, and how many of them one answer takes.
ALTER TABLE prompts ADD COLUMN min_choice INTEGER;
ALTER TABLE prompts ADD COLUMN max_choice INTEGER;
ALTER TABLE prompts ADD COLUMN min_picks INTEGER;
ALTER TABLE prompts ADD COLUMN max_picks INTEGER;
