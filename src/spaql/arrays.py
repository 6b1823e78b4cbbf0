"""What we call an array. Apart from `compiling`, so that files which compile nothing do not enter the fingerprint of the machine code."""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
