"""A verdict with something in every part, and words that are hard to write."""

from tarsy.domain.verdict import AffectedObject, Confidence, RuledOut, Verdict, VerdictOutcome

# Quotes, what ends a line somewhere, controls, signs beyond the basic plane.
ODD = 'say "no" \\ </b>\n\u2028\x1b\x7f é 😀'
VERDICT = Verdict(
    outcome=VerdictOutcome.FAULT,
    object=AffectedObject(kind="Deployment", namespace="shop", name="cart"),
    mechanism=ODD,
    confidence_object=Confidence.HIGH,
    confidence_mechanism=Confidence.MEDIUM,
    evidence=("A1", "A2"),
    ruled_out=(RuledOut("the network", ("A3",)),),
)
