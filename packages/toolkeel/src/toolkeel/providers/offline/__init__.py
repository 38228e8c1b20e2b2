"""The embedded model: rules only, no weights, no network.

lexicon          knowledge of language: words as ideas, English and Chinese side by side
arithmetic       arithmetic in a prompt, in signs or simple words
values           values in a prompt that can be arguments: numbers, quotations, paths, places, dates
parameters       a tool's parameters, with a role each, and the check of arguments
free_text        the free text of a prompt: what is left of it
fill_arguments   a tool's arguments, filled from a sentence
choose_tool      the tools that a prompt asks for, one call per sentence
read_transcript  the last prompt of a transcript, the calls made for it, and their results
correct_call     a call corrected by what its error suggests
sentences        the model's own sentences, in two languages
answer           an answer worded from results
model            `Offline`, the model
"""

from toolkeel.providers.offline.model import Offline as Offline
