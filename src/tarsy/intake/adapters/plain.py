"""Pure module: a body of no known shape is one alert, word for word."""

from tarsy.domain.alert import Alert, AlertStatus, Severity
from tarsy.domain.alert_title import alert_title
from tarsy.intake.fields import fingerprint, title
from tarsy.intake.received import Delivery, Received
from tarsy.kit.text import whole_characters

# Where an alert comes from when neither its address nor its shape tells.
UNTOLD = "webhook"


def read_plain(received: Received, source: str = UNTOLD) -> Delivery:
    """One alert that fires. The same text again is the same alert again."""
    body = whole_characters(received.text).replace("\0", "")
    alert = Alert(
        source=source,
        fingerprint=fingerprint(source, body),
        title=title(_headline(received, body), fallback=f"Alert from {source}"),
        severity=Severity.UNKNOWN,
        status=AlertStatus.FIRING,
        body=body,
    )
    return Delivery(source=source, alerts=(alert,))


def _headline(received: Received, body: str) -> str:
    found = alert_title(body, "")
    # Data in which no field is a title begins like data: no person would call a problem that.
    return "" if isinstance(received.value, list | dict) and found.startswith(("[", "{")) else found
