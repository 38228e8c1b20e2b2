"""Models and fixtures for tests of programs that use tools.

faults    deliberate faults at named places: raise, hang, cancel, reorder, kill
scripted  a model that replies from a script
cassette  recorded requests and replies in a file: how requests are compared, and what may differ
taped     a model and tools that record to, or replay from, a cassette
plugin    fixtures for pytest
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.testing.cassette import Cassette as Cassette
    from toolkeel.testing.cassette import CassetteMismatch as CassetteMismatch
    from toolkeel.testing.faults import POINTS as POINTS
    from toolkeel.testing.faults import Fault as Fault
    from toolkeel.testing.faults import Faults as Faults
    from toolkeel.testing.plugin import Recorder as Recorder
    from toolkeel.testing.scripted import Line as Line
    from toolkeel.testing.scripted import Scripted as Scripted
    from toolkeel.testing.scripted import call as call
    from toolkeel.testing.taped import TapedModel as TapedModel
    from toolkeel.testing.taped import TapedTools as TapedTools
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.testing.cassette": "Cassette CassetteMismatch",
            "toolkeel.testing.faults": "Fault Faults POINTS",
            "toolkeel.testing.plugin": "Recorder",
            "toolkeel.testing.scripted": "Line Scripted call",
            "toolkeel.testing.taped": "TapedModel TapedTools",
        },
    )
