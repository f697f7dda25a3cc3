"""What keeps stores in order by itself: jobs, one file each, and the scheduler that runs them while nobody asks."""
