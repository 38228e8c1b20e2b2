"""Pictures: measured, made smaller, made.

too_large  how large a picture is, by its header alone: nothing is unpacked
shrink     making a picture small enough to be shown to a model
generate   make pictures: by OpenAI's own tool where it is, else by any OpenAI-compatible images endpoint
"""
