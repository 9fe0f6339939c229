// tiling
