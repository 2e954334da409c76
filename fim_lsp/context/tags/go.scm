(type_declaration (type_spec name: (type_identifier) @name) @class)
(type_declaration (type_alias name: (type_identifier) @name) @class)
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: [(type_identifier) @owner (pointer_type (type_identifier) @owner) (generic_type type: (type_identifier) @owner) (pointer_type (generic_type type: (type_identifier) @owner))])) name: (field_identifier) @name) @function
(method_elem name: (field_identifier) @name) @function
(field_declaration name: (field_identifier) @name) @field
(source_file (const_declaration (const_spec name: (identifier) @name) @field))
(source_file (var_declaration (var_spec name: (identifier) @name) @field))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @field)))
(import_declaration) @import
