"""For languages of tiles: tiles of as many lanes as a language takes, and a mask wherever some of them do not exist."""
