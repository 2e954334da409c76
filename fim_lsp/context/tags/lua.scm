(function_declaration name: (identifier) @name) @function
(function_declaration name: (dot_index_expression table: (_) @owner field: (identifier) @name)) @function
(function_declaration name: (method_index_expression table: (_) @owner method: (identifier) @name)) @function
(assignment_statement (variable_list name: (dot_index_expression table: (_) @owner field: (identifier) @name)) (expression_list value: (function_definition body: (_)))) @function
(field name: (identifier) @name value: (function_definition body: (_))) @function
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @field)
(chunk (assignment_statement (variable_list name: (dot_index_expression table: (_) @owner field: (identifier) @name))) @field)
(chunk [(variable_declaration (assignment_statement (expression_list value: [(function_call name: (identifier) @require) (_ (function_call name: (identifier) @require)) (function_call arguments: (arguments (identifier) @require))]))) (assignment_statement (expression_list value: [(function_call name: (identifier) @require) (_ (function_call name: (identifier) @require)) (function_call arguments: (arguments (identifier) @require))]))] @import)
(chunk [(function_call name: (identifier) @require) @import (function_call name: (_ (function_call name: (identifier) @require) @import))])
