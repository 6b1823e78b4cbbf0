"""The type of arrays.

It stands apart from `compiling`, so that files which compile nothing are not part of the fingerprint of machine code.
"""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
