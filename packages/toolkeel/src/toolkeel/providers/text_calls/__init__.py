"""Calls and reasoning that a server passes on as text.

forms        forms of calls written as text, one table row for each
argument_values  numbers as they were written, each key once, values by their schema
starts       decides if text starts like a call without a marker
decoder      finds calls in a model's text, for servers that pass them on as text
code_fences  decides if a place in a text is in fenced code
think_tags   finds reasoning between ``<think>`` and ``</think>``
"""

from toolkeel.providers.text_calls.decoder import TextCalls as TextCalls
from toolkeel.providers.text_calls.decoder import find_calls as find_calls
