-- When a post may first be sent is counted since boot from here on: the wall clock may jump, and a prompt must not stay
-- unseen until it has caught up. What waited by the wall clock is due.
UPDATE posts SET not_before = 0;
