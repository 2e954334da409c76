"""
When the user wants no suggestion, and how dismissals make the next ones rarer. Pure.

back_off: makes suggestions rarer after dismissals, and for how long
worth: the keystrokes that a suggestion is expected to save, learned from what the user accepts
switches: the settings and documents that switch automatic suggestions off
"""
