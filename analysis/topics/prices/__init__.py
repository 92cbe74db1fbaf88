"""What do interconnects cost by size?"""
