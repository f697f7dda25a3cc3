"""Which links a new memory gets: pure functions of the memory and of what stands around it, one file a type of edge."""
