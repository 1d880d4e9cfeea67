"""The evidence checker: reads what an answer claims, and checks it against what was seen. Entry: `review.read_answer` and `ReadAnswer.review`."""
