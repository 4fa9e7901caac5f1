"""After a restore: what the register says is done again on the copy, and what cannot be is told."""
