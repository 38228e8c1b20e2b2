"""The embedded model: rules only, no weights, no network.

concepts           what it knows of language: English and Chinese side by side
arithmetic         arithmetic in a prompt, in signs or words
words              texts as sets of ideas, to compare prompts and tools by
values             what could be an argument: numbers, quotes, paths, places, dates
slots              a tool's JSON Schema, flattened into slots with a role each
text_to_replace    what a prompt wants replaced, and by what
slot_fit           how well a value suits a slot
text               the free text that remains of a prompt
flags_and_options  options, flags and written values
fill               a tool's arguments, filled from a prompt
choose_tool        which tools a prompt asks for
read_transcript    a transcript: what was asked, called and answered
follow_ups         wishes that need earlier questions or results
correct_call       a call corrected by what its error says
sentences          its sentences, in two languages
answer             an answer worded from results
model              `Offline`, the model
"""

from toolkeel.providers.offline.model import Offline as Offline
