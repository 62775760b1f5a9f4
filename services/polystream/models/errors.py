"""What is wrong with a model, in words for the person who named it. All are `ValueError`s."""


class ModelError(ValueError):
    """The model cannot be used; the text says why."""


class Refused(ModelError):
    """A GGUF file that is whole but holds something that cannot be converted exactly."""


class Damaged(ModelError):
    """A file or folder that is no model, or no longer one."""


class TemplateError(ModelError):
    """A chat template that is none, or that refuses these messages: then in its own words."""
