"""Parts of all commands: printing, errors of one line, shared options, arguments and help."""
