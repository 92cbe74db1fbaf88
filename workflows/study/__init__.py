"""Study files and the files that they name: read and checked."""
