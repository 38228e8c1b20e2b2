"""Measuring, shrinking and generating pictures.

too_large  the size of a picture from its header, without decoding it
damage     what is wrong with a picture, without decoding its pixels
shrink     make a picture small enough for a model
generate   generate pictures: by OpenAI's own tool where available, else by any OpenAI-compatible endpoint
"""
