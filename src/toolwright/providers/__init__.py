"""4. Wire formats, each file the same trio: encode, decode, decode_stream."""
