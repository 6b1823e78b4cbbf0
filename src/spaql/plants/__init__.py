"""What is controlled: plants with their equations, maps to the cube, the problems by name."""
