"""Parts that all commands share: printing, one-line errors, options, parsing and help."""
