"""Calls and reasoning that a server passes on as text: which forms there are, and how they are found.

forms    calls written as text: the forms that models were taught, as one table row each
decoder  calls in what a model says, for servers that pass them on as text
think_tags  reasoning between ``<think>`` and ``</think>``
"""

from toolkeel.providers.text_calls.decoder import TextCalls as TextCalls
from toolkeel.providers.text_calls.decoder import find_calls as find_calls
