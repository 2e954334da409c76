(class_selector (class_name) @name) @field
(id_selector (id_name) @name) @field
(declaration (property_name) @name @variable) @field
(keyframes_statement (keyframes_name) @name) @field
[(import_statement) (charset_statement)] @import
