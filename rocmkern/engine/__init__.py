"""How operations reach a device: planned once for operands of the same kinds, then run by that plan."""
