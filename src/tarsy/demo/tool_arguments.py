"""Arguments that several tools of the simulated cluster have, described for the model."""

from typing import Annotated

from pydantic import Field

Namespace = Annotated[str, Field(description="Namespace; empty means all namespaces")]
InNamespace = Annotated[str, Field(description="Namespace of the object")]
PodName = Annotated[str, Field(description="Full name of the pod, as pods_list shows it")]
NodeName = Annotated[str, Field(description="Name of the node")]
Minutes = Annotated[int, Field(description="How many minutes to look back from now", ge=1, le=20160)]
