"""A run as a page to look at: data and code in one file, no server and no network."""
