"""Running a session: submission, the stages of its chain, chat answers, scores and replays."""
