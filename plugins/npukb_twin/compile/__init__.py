"""From a candidate's device code to a checked image: compilers, the runtime's build, the dialect, messages, guards."""
