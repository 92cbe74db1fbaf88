"""The interconnects of a machine: what its tools report, and the interconnect files that follow."""
