"""What a user wrote: a study file and all that it names, read and checked."""
