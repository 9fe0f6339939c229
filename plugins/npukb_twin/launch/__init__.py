"""One launch: buffers, the child process and its sandbox, the report that comes back."""
