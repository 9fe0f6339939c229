"""The dynamic track: host and device code of one operator."""
