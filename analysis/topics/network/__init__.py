"""How fast are the interconnects?"""
