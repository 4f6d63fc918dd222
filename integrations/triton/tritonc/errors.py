"""What goes wrong, for the user to read."""


class Unsupported(RuntimeError):
    """tritonc cannot be put into this Triton, or there is nothing to put into it."""


class Refused(RuntimeError):
    """The kernel asks for what tritonc does not do."""


class Failed(RuntimeError):
    """tritonc could not compile the kernel; the text is its diagnostic."""
