"""Tool bodies on the nodes of a Ray cluster, each in a process of its own that can be killed.

node      what runs on a node: a request handed to a worker process below it
cluster   the connection to Ray, refused if its control port is open to others; submitted tasks
executor  the executor: bodies placed by the resources they need
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel_studio.ray.executor import Ray as Ray
else:
    __getattr__, __dir__, __all__ = door(__name__, {"toolkeel_studio.ray.executor": "Ray"})
