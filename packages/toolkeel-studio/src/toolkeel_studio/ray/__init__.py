"""Bodies on the nodes of a Ray cluster, each in a process of its own that can be killed.

node      what a node does: it has an order carried out by a worker process below it
cluster   the connection to Ray, refused where its control port is open; orders on their way
executor  an executor: bodies on the nodes, placed by what they need
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel_studio.ray.executor import Ray as Ray
else:
    __getattr__, __dir__, __all__ = door(__name__, {"toolkeel_studio.ray.executor": "Ray"})
