"""The object model: Device, Stream, Event, DeviceMemory, Module, Function, KernelCache."""
