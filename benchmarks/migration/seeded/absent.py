"""Stand-ins for names that are not here: they fail when they are used, not when they are named."""


class _Kind(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(f"{cls.told} is not here")

    def __call__(cls, *args, **kwargs):
        raise NotImplementedError(f"{cls.told} is not here")

    def __instancecheck__(cls, one):
        raise NotImplementedError(f"{cls.told} is not here")

    def __or__(cls, other):
        return cls

    __ror__ = __or__


def absent(name):
    """A class of that name: it may be an annotation, a parameter or a base."""
    made = _Kind(name.rpartition(".")[2], (), {"told": name})
    made.__class_getitem__ = classmethod(lambda cls, item: cls)
    return made
