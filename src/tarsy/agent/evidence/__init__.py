"""The evidence checker: whether the claims of an answer are supported by the results that agents saw.

Agents call `review.read_answer` and `ReadAnswer.review`, evals call `checker.check`. `verdict` parses the verdict block of an answer and hides
it while the answer is streamed. `statements` and `quotation` serve the checker alone.
"""
