"""Stand-ins for names that are not here: they fail when they are used, not when they are named."""

from pydantic import BaseModel

_OfModels = type(BaseModel)


class _Kind(_OfModels):
    """So that one may be a base beside a model, and be gone through."""

    def __new__(mcs, name, bases, space, **more):
        if any(issubclass(base, BaseModel) for base in bases):
            return super().__new__(mcs, name, bases, space, **more)
        return type.__new__(mcs, name, bases, space)

    def __init__(self, name, bases, space, **more):
        type.__init__(self, name, bases, space)

    def __iter__(self):
        return iter(())

    def __instancecheck__(self, one):
        return False

    def __subclasscheck__(self, one):
        return False


def absent(name):
    """A class of that name: it may be an annotation, a parameter or a base."""

    def refuse(self, *_, **__):
        raise NotImplementedError(f"{name} is not here")

    def attribute(self, asked):
        if asked.startswith("__"):
            raise AttributeError(asked)
        raise NotImplementedError(f"{name} is not here")

    made = {
        "__new__": lambda cls, *_, **__: object.__new__(cls),
        "__init__": lambda self, *_, **__: None,
        "__call__": refuse,
        "__getattr__": attribute,
        "__class_getitem__": classmethod(lambda cls, item: cls),
    }
    return _Kind(f"{name} is not here", (), made)
