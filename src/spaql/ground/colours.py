"""The colours of figures and pages. Most are by Okabe and Ito, safe for the colour-blind.

Their yellow is not used: it vanishes on white.
"""

# The colour of text, axes and grid, and of nothing else: a page replaces it by `currentColor` to follow its theme.
INK = "#22262b"

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
ORANGE = "#E69F00"
GREY = "#7F7F7F"
