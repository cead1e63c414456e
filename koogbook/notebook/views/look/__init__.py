"""How every view looks: markup and its forms, styles, glyphs, measures, common pieces."""
