"""What commands have in common: printing, errors of one line, shared options and arguments, memory."""
